// Package sftptest gives tests of the SFTP channel the other side to talk to:
//
//   - [OpenSSH] is the real server, on a loopback port, with keys and a folder of its own. It is fetched where it is not
//     installed; a server that cannot be had fails the test, which is never skipped.
//   - [Scripted] is a server of our own at the level of packets (SSH by x/crypto, SFTP version 3 by hand, see
//     draft-ietf-secsh-filexfer-02), which a test can have misbehave at any step in any of the ways that servers are
//     known for.
//   - [Delay] stands between a client and either of them and adds the time of a long line to every octet, or cuts it.
//
// All of them end with the test that started them, and may be used from several goroutines.
package sftptest
