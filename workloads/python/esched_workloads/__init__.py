"""The workloads that come with esched, one module each."""
