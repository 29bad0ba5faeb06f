package deploy

// Expire lets the time for getting ready be over as soon as a channel is closed,
// so that a test decides when that is, and not the machine's speed.
func (s *Spec) Expire(over <-chan struct{}) { s.over = over }
