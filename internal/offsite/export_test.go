package offsite

// SetPiece sets the size of the pieces.
func (b *Bucket) SetPiece(n int64) { b.piece = n }
