// Package tools lists the booking app's tools.
package tools

import (
	cancelbooking "github.com/ratiba/ratiba/internal/app/booking/tools/cancel_booking"
	checkavailability "github.com/ratiba/ratiba/internal/app/booking/tools/check_availability"
	confirmbooking "github.com/ratiba/ratiba/internal/app/booking/tools/confirm_booking"
	holdslot "github.com/ratiba/ratiba/internal/app/booking/tools/hold_slot"
	initiatestkpush "github.com/ratiba/ratiba/internal/app/booking/tools/initiate_stk_push"
	listactiveservices "github.com/ratiba/ratiba/internal/app/booking/tools/list_active_services"
	querybookings "github.com/ratiba/ratiba/internal/app/booking/tools/query_bookings"
	refundpayment "github.com/ratiba/ratiba/internal/app/booking/tools/refund_payment"
	releasehold "github.com/ratiba/ratiba/internal/app/booking/tools/release_hold"
	reschedulebooking "github.com/ratiba/ratiba/internal/app/booking/tools/reschedule_booking"
	sendpaymentlink "github.com/ratiba/ratiba/internal/app/booking/tools/send_payment_link"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tool"
)

// All returns every tool of the app.
func All(payments payment.Ledger) []tool.Tool {
	return []tool.Tool{
		listactiveservices.Tool(),
		checkavailability.Tool(),
		querybookings.Tool(),
		holdslot.Tool(),
		releasehold.Tool(),
		confirmbooking.Tool(),
		reschedulebooking.Tool(),
		cancelbooking.Tool(),
		initiatestkpush.Tool(payments),
		sendpaymentlink.Tool(payments),
		refundpayment.Tool(payments),
	}
}
