package dedup

// families gathers the message types that speak of one document, so that a change finds its order. Any other type is a family
// of its own.
var families = map[string]string{
	"ORDCHG": "ORDERS",
	"860":    "850", "865": "855",
	"OrderChange": "Order", "OrderCancellation": "Order",
}

func family(messageType string) string {
	if f, ok := families[messageType]; ok {
		return f
	}
	return messageType
}

// corrected are the types whose predecessors are of another family, with numbers of their own.
var corrected = map[string]string{"CreditNote": "Invoice", "DebitNote": "Invoice", "SelfBilledCreditNote": "SelfBilledInvoice"}

func predecessorFamily(messageType string) string {
	if f, ok := corrected[messageType]; ok {
		return f
	}
	return family(messageType)
}
