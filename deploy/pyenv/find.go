package pyenv

import "context"

// Interpreter is a Python that environments can be created with.
type Interpreter struct {
	Path    string
	Version string
}

// Find returns the interpreter that [Manager.Ensure] would create environments
// with. The error lists the ones that do not fit and says what to install.
func (m *Manager) Find(ctx context.Context) (Interpreter, error) {
	p, err := m.findPython(ctx, m.uv())
	if err != nil {
		return Interpreter{}, err
	}
	return Interpreter{Path: p.path, Version: p.version}, nil
}
