package workloads

// Program is a user's own program, which the driver executes in a process of
// its own: esched_client/program.py has the contract.
type Program struct {
	// Module is a Python module with a function run(client, params), importable
	// where the driver runs; or Argv is a command line.
	Module string   `json:"module,omitempty"`
	Argv   []string `json:"argv,omitempty"`
	Limits Limits   `json:"limits"`
}

// Limits bound a program; 0 means no limit.
type Limits struct {
	// Seconds is its time. MemoryBytes is what it and its children may have
	// resident, looked at ten times a second; ResultBytes the size of its result.
	Seconds     float64 `json:"seconds"`
	MemoryBytes int64   `json:"memory_bytes"`
	ResultBytes int64   `json:"result_bytes"`
}

// ProgramPackage is the Python package of users' scripts on nodes.
const ProgramPackage = "esched_programs"
