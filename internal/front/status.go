package front

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// Status returns the HTTP status of a kind. It is the one table from kinds to statuses.
func Status(k sheaf.Kind) int {
	switch k {
	case sheaf.Invalid:
		return http.StatusBadRequest
	case sheaf.Unauthorized:
		return http.StatusUnauthorized
	case sheaf.Forbidden:
		return http.StatusForbidden
	case sheaf.NotFound:
		return http.StatusNotFound
	case sheaf.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case sheaf.Conflict:
		return http.StatusConflict
	case sheaf.PreconditionFailed:
		return http.StatusPreconditionFailed
	case sheaf.TooLarge:
		return http.StatusRequestEntityTooLarge
	case sheaf.UnsupportedType:
		return http.StatusUnsupportedMediaType
	case sheaf.RangeNotSatisfiable:
		return http.StatusRequestedRangeNotSatisfiable
	case sheaf.RateLimited:
		return http.StatusTooManyRequests
	case sheaf.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
