package eventhash

// A property is the number of a name that the standard uses; 0 is any other.
type property uint8

// properties are numbered as they come up below.
var properties = map[string]property{}

// A rule says how a property enters the string and which of its own properties
// come first, in their order.
type rule struct {
	property property
	name     string
	inside   []rule
	time     bool
	// typed: the type comes first, and neither is preceded by the name of the
	// whole (CBV 2.0 §8.9.2, bizTransaction, source, destination).
	typed bool
	// vocabulary is what a bare word means.
	vocabulary string
}

const (
	cbv = "https://ref.gs1.org/cbv/"
	voc = "https://gs1.org/voc/"
)

// eventOrder is the canonical order of properties (CBV 2.0 §8.9.2).
var eventOrder = []rule{
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
}

var quantity = has("quantityElement", is("epcClass"), is("quantity"), is("uom"))

// declarationOrder is that of an error declaration, which is no part of the
// event's own hash.
var declarationOrder = []rule{
	when("declarationTime"), of("reason", cbv+"ER-"), has("correctiveEventIDs", is("correctiveEventID")),
}

// Properties that are no part of the hash (CBV 2.0 §8.9.1).
var excluded = map[property]bool{
	number("eventID"): true, number("recordTime"): true, number("errorDeclaration"): true, number("type"): true,
	number("isA"): true, number("@context"): true, number("rdfs:comment"): true, number("comment"): true,
}

func number(name string) property {
	if properties[name] == 0 {
		properties[name] = property(len(properties) + 1)
	}
	return properties[name]
}

func is(name string) rule   { return rule{property: number(name), name: name} }
func when(name string) rule { return rule{property: number(name), name: name, time: true} }
func of(name, vocabulary string) rule {
	return rule{property: number(name), name: name, vocabulary: vocabulary}
}
func has(name string, inside ...rule) rule {
	return rule{property: number(name), name: name, inside: inside}
}
func typed(name, vocabulary string) rule {
	return rule{property: number(name), name: name, typed: true, inside: []rule{of("type", vocabulary)}}
}
