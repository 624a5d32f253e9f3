package web

import (
	"net/http"
	"strings"
	"time"
)

// precondition returns the status to answer with because of the conditions of a request, 304 or 412, or 0 to go on.
// They are looked at in the order of https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2. The tag is "" and the time
// zero where there is none. A date that cannot be read is no condition.
func precondition(r *http.Request, tag string, modified time.Time) int {
	header := r.Header
	at := modified.Truncate(time.Second) // dates of HTTP know no more
	if match := header.Values("If-Match"); len(match) > 0 {
		if !matches(match, tag, false) {
			return http.StatusPreconditionFailed
		}
	} else if since, ok := date(header, "If-Unmodified-Since", at); ok && at.After(since) {
		return http.StatusPreconditionFailed
	}
	if match := header.Values("If-None-Match"); len(match) > 0 {
		if matches(match, tag, true) {
			return http.StatusNotModified
		}
	} else if since, ok := date(header, "If-Modified-Since", at); ok && !at.After(since) {
		return http.StatusNotModified
	}
	return 0
}

// date returns the date of a header, if it has one and there is one to compare with.
func date(header http.Header, name string, modified time.Time) (time.Time, bool) {
	text := header.Get(name)
	if text == "" || modified.IsZero() {
		return time.Time{}, false
	}
	at, err := http.ParseTime(text)
	return at, err == nil
}

// matches tells whether a list of tags has the one of what is there. Weak tags count only in a weak comparison. As tags
// of ours hold no commas, the lists need not be parsed to find them.
func matches(lists []string, tag string, weak bool) bool {
	for _, list := range lists {
		for candidate := range strings.SplitSeq(list, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" {
				return true
			}
			if tag != "" && equalTags(candidate, tag, weak) {
				return true
			}
		}
	}
	return false
}

func equalTags(a, b string, weak bool) bool {
	if weak {
		return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
	}
	return a == b && !strings.HasPrefix(a, "W/")
}
