package partners

import "time"

// SetInterval changes how often d reloads without being told.
func (d *Directory) SetInterval(every time.Duration) { d.every = every }

// OnLoad has f called after each load.
func (d *Directory) OnLoad(f func()) { d.loaded = f }
