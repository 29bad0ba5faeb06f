// Command esched runs scheduling experiments on Dask clusters.
package main

import (
	"os"

	"github.com/esched/esched/cmd"
)

func main() {
	os.Exit(cmd.Main(cmd.Current()))
}
