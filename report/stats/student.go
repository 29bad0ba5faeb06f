package stats

import "gonum.org/v1/gonum/stat/distuv"

// TQuantile returns the p-quantile, 0 < p < 1, of Student's t distribution
// with df > 0 degrees of freedom.
func TQuantile(p, df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p) }

func normCDF(z float64) float64 { return distuv.UnitNormal.CDF(z) }

func normQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
