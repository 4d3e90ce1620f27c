package bookingsql

import (
	"context"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

const selectService = `SELECT id, name, aliases, description, minutes, buffer_before, buffer_after, interval_minutes,
	price_minor, deposit_minor, currency, hidden OR removed, capacity, needs, day_interval, starts FROM services `

func scanService(sc db.Scanner) (calendar.Service, error) {
	var s calendar.Service
	var length, before, after, interval int64
	err := sc.Scan(&s.ID, db.JSON{V: &s.Name}, db.JSON{V: &s.Aliases}, db.JSON{V: &s.Description}, &length, &before, &after,
		&interval, &s.Price.Minor, &s.Deposit.Minor, &s.Price.Currency, &s.Hidden, &s.Capacity, db.JSON{V: &s.Needs},
		db.JSON{V: &s.DayInterval}, db.JSON{V: &s.Starts})
	s.Deposit.Currency = s.Price.Currency
	s.Duration, s.BufferBefore, s.BufferAfter, s.Interval = minutes(length), minutes(before), minutes(after), minutes(interval)
	return s, err
}

func scanStaff(sc db.Scanner) (calendar.Staff, error) {
	var s calendar.Staff
	err := sc.Scan(&s.ID, &s.Name, db.JSON{V: &s.Aliases})
	return s, err
}

// Catalogue lists what a customer may book and who works here, in the order of
// the definition.
func Catalogue(ctx context.Context, q db.Q) (calendar.Catalogue, error) {
	out := calendar.Catalogue{Services: []calendar.Service{}, Staff: []calendar.Staff{}}
	offering := map[string][]string{} // staff by service
	err := db.Gather(ctx, q,
		askAll("list services", scanService, &out.Services, selectService+`WHERE NOT hidden AND NOT removed ORDER BY position, id`),
		askAll("list staff", scanStaff, &out.Staff, `SELECT id, name, aliases FROM staff WHERE NOT removed ORDER BY position, id`),
		db.Each("list offers", func(sc db.Scanner) error {
			var service, staff string
			err := sc.Scan(&service, &staff)
			offering[service] = append(offering[service], staff)
			return err
		}, `SELECT ss.service_id, ss.staff_id FROM service_staff ss JOIN staff s ON s.id = ss.staff_id
			WHERE NOT s.removed ORDER BY s.position, s.id`))
	for i, s := range out.Services {
		out.Services[i].Staff = append([]string{}, offering[s.ID]...)
	}
	return out, err
}
