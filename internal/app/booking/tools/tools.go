// Package tools lists the booking app's tools.
package tools

import (
	answerfromknowledge "github.com/ratiba/ratiba/internal/app/booking/tools/answer_from_knowledge"
	broadcastmessage "github.com/ratiba/ratiba/internal/app/booking/tools/broadcast_message"
	cancelbooking "github.com/ratiba/ratiba/internal/app/booking/tools/cancel_booking"
	checkavailability "github.com/ratiba/ratiba/internal/app/booking/tools/check_availability"
	completebooking "github.com/ratiba/ratiba/internal/app/booking/tools/complete_booking"
	confirmbooking "github.com/ratiba/ratiba/internal/app/booking/tools/confirm_booking"
	createstafftimeblock "github.com/ratiba/ratiba/internal/app/booking/tools/create_staff_time_block"
	deleteservice "github.com/ratiba/ratiba/internal/app/booking/tools/delete_service"
	holdslot "github.com/ratiba/ratiba/internal/app/booking/tools/hold_slot"
	initiatestkpush "github.com/ratiba/ratiba/internal/app/booking/tools/initiate_stk_push"
	joinwaitlist "github.com/ratiba/ratiba/internal/app/booking/tools/join_waitlist"
	leavewaitlist "github.com/ratiba/ratiba/internal/app/booking/tools/leave_waitlist"
	listactiveservices "github.com/ratiba/ratiba/internal/app/booking/tools/list_active_services"
	lookupcontact "github.com/ratiba/ratiba/internal/app/booking/tools/lookup_contact"
	querybookings "github.com/ratiba/ratiba/internal/app/booking/tools/query_bookings"
	querystats "github.com/ratiba/ratiba/internal/app/booking/tools/query_stats"
	querywaitlist "github.com/ratiba/ratiba/internal/app/booking/tools/query_waitlist"
	recordfeedback "github.com/ratiba/ratiba/internal/app/booking/tools/record_feedback"
	refundpayment "github.com/ratiba/ratiba/internal/app/booking/tools/refund_payment"
	releasehold "github.com/ratiba/ratiba/internal/app/booking/tools/release_hold"
	reschedulebooking "github.com/ratiba/ratiba/internal/app/booking/tools/reschedule_booking"
	sendpaymentlink "github.com/ratiba/ratiba/internal/app/booking/tools/send_payment_link"
	sendreminder "github.com/ratiba/ratiba/internal/app/booking/tools/send_reminder"
	upsertcontact "github.com/ratiba/ratiba/internal/app/booking/tools/upsert_contact"
	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/people"
	"github.com/ratiba/ratiba/internal/retrieve"
	"github.com/ratiba/ratiba/internal/tool"
)

// Stores are what the tools keep beside the calendar.
type Stores struct {
	Payments   payment.Ledger
	People     people.Book
	Documents  retrieve.Index
	Broadcasts broadcast.Ledger
}

// All returns every tool of the app.
func All(s Stores) []tool.Tool {
	return []tool.Tool{
		listactiveservices.Tool(),
		checkavailability.Tool(),
		querybookings.Tool(),
		holdslot.Tool(),
		releasehold.Tool(),
		confirmbooking.Tool(),
		reschedulebooking.Tool(),
		cancelbooking.Tool(),
		initiatestkpush.Tool(s.Payments),
		sendpaymentlink.Tool(s.Payments),
		refundpayment.Tool(s.Payments),
		lookupcontact.Tool(s.People),
		upsertcontact.Tool(s.People),
		querystats.Tool(s.Broadcasts),
		createstafftimeblock.Tool(),
		sendreminder.Tool(s.People),
		broadcastmessage.Tool(s.Broadcasts),
		deleteservice.Tool(),
		answerfromknowledge.Tool(s.Documents),
		completebooking.Tool(),
		recordfeedback.Tool(),
		joinwaitlist.Tool(),
		leavewaitlist.Tool(),
		querywaitlist.Tool(),
	}
}
