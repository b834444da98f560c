// Package sftpproof is the proof that the SFTP channel takes every file once, whatever servers do. It has tests only, which
// run a gateway's node against the servers of package sftptest:
//
//   - every fault that SFTP pollers are known for, by its number in docs/faults-sftp.md;
//   - every normal way, against OpenSSH;
//   - a soak: many partners at once, of which some are slow, dead, flapping or hostile (`make soak`);
//   - benchmarks against OpenSSH's own client.
//
// What happens when the gateway dies is package crashtest's subject.
package sftpproof
