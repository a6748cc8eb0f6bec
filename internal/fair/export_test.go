package fair

// Names returns the number of names that are remembered.
func (t *Turns) Names() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.names)
}
