package interchange

// Frequencies of health care claims (CLM05-3, element 1325), of one octet: in an 837 they take the place of element 353, of
// two. So in the guides of the 837, and in the tables of public readers of it.
const (
	claimOriginal    = "1"
	claimReplacement = "7"
	claimVoid        = "8"
)

// effects says what the function codes of a standard mean. EDIFACT 1225 as in directory D.23A; X12 353 as in 004010. Not
// listed, and so without an effect: codes that say nothing of the document (a request, an agreement), and 353 code 15, which
// some send with a copy and some with a correction.
var effects = map[Standard]map[string]Effect{
	EDIFACT: effectOf(map[Effect][]string{
		New:       {"9", "14", "22", "46", "47"},
		Supersede: {"5", "18", "20", "21", "61"},
		Delta:     {"2", "3", "4", "19", "33", "36", "62"},
		Cancel:    {"1", "17", "39", "40", "50"},
		NoEffect:  {"7", "15", "31", "35", "43", "54"},
		Response:  {"6", "8", "10", "11", "12", "27", "28", "29", "30", "34", "44", "45", "48"},
		Trial:     {"53"},
	}),
	X12: effectOf(map[Effect][]string{
		New:       {"00", "14", "49", claimOriginal},
		Supersede: {"05", "18", "41", "CO", claimReplacement},
		Delta:     {"02", "03", "04", "19", "25"},
		Cancel:    {"01", "17", claimVoid},
		NoEffect:  {"07", "22"},
		Response:  {"06", "08", "10", "11", "12", "44"},
		Trial:     {"77"},
	}),
}

func effectOf(codes map[Effect][]string) map[string]Effect {
	byCode := make(map[string]Effect)
	for effect, list := range codes {
		for _, code := range list {
			byCode[code] = effect
		}
	}
	return byCode
}

// EffectOf tells what a function code of a standard means for a document; NoStatement if the code is in no list.
func EffectOf(standard Standard, code string) Effect { return effects[standard][code] }
