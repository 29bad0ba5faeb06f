// Package preservedouble stands for the commands preserve and prun of DAS
// clusters, of which there is no package, on top of a real SLURM: a
// reservation is a job.
//
// What it prints follows the forms that public scripts for these clusters read;
// where they leave something open (the lines above the listing's header, the
// word for pending), it is a guess. It is for tests only, and shows no more
// than that esched understands these forms.
package preservedouble
