// Package ssh is the deploy.Host of a node that is reached over SSH.
//
// A [Client] makes connections the way the user's own ssh would (ssh_config,
// known hosts, agent, keys, jump hosts, an existing ControlMaster), with
// strict host keys and a bound on every wait. A [Host] runs commands, places
// files and cleans up through guards: esched's own binary, which the Host puts
// on the node once. goph is the façade over a connection.
//
// This package never asks for a password, never accepts an unknown host key,
// and never writes to the user's ssh files. It does not know which nodes are
// reserved: [Config].Permit does.
package ssh
