// Package crashtest is the proof that firstcopy keeps its promises when things die. It has tests only, which run the
// program itself as an operator would: built, configured by files, posted to over HTTP.
//
//   - Copies of one message race through two gateways on one database.
//   - With the build tag failpoint, gateway and database are killed at every point that package failpoint marks, at random
//     moments, and between a COMMIT and its answer, while partners go on sending and repeating. Afterwards every receipt a
//     partner holds is compared with the account, and every forwarded file with what was sent.
//   - With -mutants, the same is done to programs that are wrong on purpose (folder mutants), and must be noticed: checks
//     that catch nothing prove nothing.
//
// Not done: power failures (the operating system keeps what was written), fail-over to a standby, full disks.
package crashtest
