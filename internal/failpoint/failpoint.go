// Package failpoint marks the places between two steps of ingest and forwarding at which a crash test may kill the
// process or its database. Random kills alone give false comfort: the vulnerable moments are a few percent of the time.
//
// In an ordinary build [Hit] is an empty function. With the build tag failpoint it reads two environment variables:
//
//	FIRSTCOPY_FAILPOINT        name@n        die by SIGKILL at the n-th hit of the point
//	                           name@n@pid    send SIGQUIT to that process (a postmaster) instead, and go on
//	FIRSTCOPY_FAILPOINT_TRACE  file          append every point's name to the file when it is first hit
package failpoint
