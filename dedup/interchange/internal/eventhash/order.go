package eventhash

// A Property is the number of a name that the standard uses; 0 is any other.
type Property uint8

// PropertyOf returns the property with a name.
func PropertyOf(name string) Property { return properties[name] }

// properties are numbered as they come up below.
var properties = map[string]Property{}

// A rule says how a property enters the string and which of its own properties
// come first, in their order.
type rule struct {
	property Property
	name     string
	inside   *order
	time     bool
	// typed: the type comes first, and neither is preceded by the name of the
	// whole (CBV 2.0 §8.9.2, bizTransaction, source, destination).
	typed bool
	// vocabulary is what a bare word means.
	vocabulary string
}

// An order is a list of rules, in the order in which they are applied.
type order struct {
	rules []rule
	ruled [256]bool // which properties have one
}

func orderOf(rules ...rule) *order {
	o := &order{rules: rules}
	for _, r := range rules {
		o.ruled[r.property] = true
	}
	return o
}

// rule is that of a property, which has one.
func (o *order) rule(p Property) rule {
	for _, r := range o.rules {
		if r.property == p {
			return r
		}
	}
	return rule{inside: none}
}

const (
	cbv = "https://ref.gs1.org/cbv/"
	voc = "https://gs1.org/voc/"
)

// eventOrder is the canonical order of properties (CBV 2.0 §8.9.2).
var eventOrder = orderOf(
	when("eventTime"),
	is("eventTimeZoneOffset"),
	is("certificationInfo"),
	has("epcList", is("epc")),
	is("parentID"),
	has("inputEPCList", is("epc")),
	has("childEPCs", is("epc")),
	has("quantityList", quantity),
	has("childQuantityList", quantity),
	has("inputQuantityList", quantity),
	has("outputEPCList", is("epc")),
	has("outputQuantityList", quantity),
	is("action"),
	is("transformationID"),
	of("bizStep", cbv+"BizStep-"),
	of("disposition", cbv+"Disp-"),
	has("persistentDisposition", of("set", cbv+"Disp-"), of("unset", cbv+"Disp-")),
	has("readPoint", is("id")),
	has("bizLocation", is("id")),
	has("bizTransactionList", typed("bizTransaction", cbv+"BTT-")),
	has("sourceList", typed("source", cbv+"SDT-")),
	has("destinationList", typed("destination", cbv+"SDT-")),
	has("sensorElementList", has("sensorElement",
		has("sensorMetadata", when("time"), when("startTime"), when("endTime"), is("deviceID"), is("deviceMetadata"), is("rawData"),
			is("dataProcessingMethod"), is("bizRules")),
		has("sensorReport", of("type", voc), of("exception", voc), is("deviceID"), is("deviceMetadata"), is("rawData"),
			is("dataProcessingMethod"), when("time"), is("microorganism"), is("chemicalSubstance"), is("value"), of("component", cbv+"Comp-"),
			is("stringValue"), is("booleanValue"), is("hexBinaryValue"), is("uriValue"), is("minValue"), is("maxValue"), is("meanValue"),
			is("sDev"), is("percRank"), is("percValue"), is("uom"), is("coordinateReferenceSystem")))),
)

var quantity = has("quantityElement", is("epcClass"), is("quantity"), is("uom"))

// declarationOrder is that of an error declaration, which is no part of the
// event's own hash.
var declarationOrder = orderOf(
	when("declarationTime"), of("reason", cbv+"ER-"), has("correctiveEventIDs", is("correctiveEventID")),
)

// excluded are the properties that are no part of the hash (CBV 2.0 §8.9.1).
var excluded = orderOf(is("eventID"), is("recordTime"), is("errorDeclaration"), is("type"), is("isA"), is("comment")).ruled

var declarationProperty = number("errorDeclaration")

func number(name string) Property {
	if properties[name] == 0 {
		properties[name] = Property(len(properties) + 1)
	}
	return properties[name]
}

// none is the order of what should have nothing in it.
var none = orderOf()

func is(name string) rule { return rule{property: number(name), name: name, inside: none} }

func when(name string) rule {
	return rule{property: number(name), name: name, inside: none, time: true}
}

func of(name, vocabulary string) rule {
	return rule{property: number(name), name: name, inside: none, vocabulary: vocabulary}
}

func has(name string, inside ...rule) rule {
	return rule{property: number(name), name: name, inside: orderOf(inside...)}
}

func typed(name, vocabulary string) rule {
	return rule{property: number(name), name: name, typed: true, inside: orderOf(of("type", vocabulary))}
}
