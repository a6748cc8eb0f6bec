package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

var deliveryStates = func() map[string]sheaf.DeliveryState {
	out := map[string]sheaf.DeliveryState{}
	for _, s := range sheaf.DeliveryStates {
		out[string(s)] = s
	}
	return out
}()

// listDeliveries answers GET /api/webhooks/subscriptions/{id}/deliveries.
func (s *Server) listDeliveries(x *exchange) (answer, error) {
	id, err := pathID[sheaf.SubscriptionID](x)
	if err != nil {
		return answer{}, err
	}
	p, err := x.paging()
	if err != nil {
		return answer{}, err
	}
	state, err := choice(x, "state", deliveryStates, "waiting, sending, delivered, failed or held")
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Deliveries(x.Request.Context(), x.Caller, id, state, p)
	return pageOf(page), err
}

func shownDelivery(d sheaf.DeliveryDetail) answer {
	return resource(http.StatusOK, wrapped{"delivery", &d}, d.AttemptCount)
}

// redeliver answers POST /api/webhooks/deliveries/{id}/redeliver.
func (s *Server) redeliver(x *exchange) (answer, error) {
	id, err := pathID[sheaf.DeliveryID](x)
	if err != nil {
		return answer{}, err
	}
	queued := func(d sheaf.Delivery) answer {
		return answer{status: http.StatusAccepted, body: sheaf.AppendJSON(nil, wrapped{"delivery", &d})}
	}
	return once(x, queued, func(c app.Caller) (sheaf.Delivery, error) {
		return s.App.Redeliver(x.Request.Context(), c, id)
	})
}

// listFates answers GET /api/v1/events/{id}/deliveries: the deliveries of an event, by subscription.
func (s *Server) listFates(x *exchange) (answer, error) {
	id, err := x.eventID()
	if err != nil {
		return answer{}, err
	}
	p, err := x.paging()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.EventFates(x.Request.Context(), x.Caller, id, p)
	return pageOf(page), err
}
