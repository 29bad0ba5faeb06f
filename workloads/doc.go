// Package workloads has the programs that esched measures and the means to
// run them: a registry of [Workload]s, the [Provider]s of the data that they
// read, the Python modules that nodes need ([Files]), and the [Driver], a client
// process that executes trials.
//
// A workload is a Python module with two functions, submit(client, params,
// seed), which returns futures, and finish(values, params), which returns an
// esched_client.Result; a third one, prepare(client, params, seed), is optional.
// Only submitting and gathering are measured, and the framework does that. A
// [Program] is a user's own: the driver executes it in a process of its own.
//
// The package starts no process by itself and knows nothing of hosts: whoever
// starts a Driver brings the function that starts a command somewhere.
package workloads
