import AdapterKit
import Identity
import Testing

@Suite struct CookieDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06-Nov-1994 08:49:37 GMT", "06 nov 1994 8:49:37", "1994/NOVEMBER/6 08:49:37", "08:49:37 6 Nov 94",
        "Sun, 06 Nov 1994 08:49:37 +0200", "6 Nov 1994 08:49:37Z 7 Dec 1999 01:02:03",
    ])
    func `a date is read in every form that HTTP had, and in any order`(text: String) {
        #expect(CookieDate.parse(text) == UnixTime(seconds: 784_111_777))
    }

    @Test(arguments: [
        "", "0", "Thu", "Sun, 06 Nov 1994", "08:49:37", "31 Feb 1970 00:00:00", "0 Jan 1970 00:00:00",
        "1 Jan 1970 24:00:00", "1 Jan 1970 00:60:00", "1 Jan 1970 00:00:60",
        "1 Jan 19700 00:00:00", "001 Jan 1970 00:00:00", "1 Jan 1970 000:00:00", "1 Jan 1970 0:00:000",
        "1 Jän 1970 00:00:00", "99999999999999999999 Jan 1970 00:00:00", "1 Jan 1970 +1:+1:00",
        "1 Jan 1970 00:00", "::", ":::", "\u{0}",
    ])
    func `what is no date, or one that no calendar has, is none`(text: String) {
        #expect(CookieDate.parse(text) == nil)
    }

    @Test(arguments: ["1 Jan 1600 00:00:00", "1 Jan 0100 00:00:00", "31 Dec 1000 23:59:59"])
    func `a year before 1601 is past`(text: String) {
        #expect(CookieDate.parse(text) == .distantPast)
    }

    @Test func `two digits of a year are of 1970 to 2069`() {
        #expect(CookieDate.parse("1 Jan 70 00:00:00") == UnixTime(seconds: 0))
        #expect(CookieDate.parse("1 Jan 69 00:00:00") == UnixTime(seconds: 3_124_224_000))
    }
}
