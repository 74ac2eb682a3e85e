import AdapterKit
import Identity
import Testing

@Suite struct UnixTimeTests {
    @Test func `a hundred thousand random instants keep their order, and an end that is now has passed`() {
        var random = SeededRandom(seed: 35)
        func fraction() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
        for _ in 0..<100_000 {
            let now = WireDate(secondsSinceReferenceDate: 8e8 + 1e8 * fraction() + fraction())
            #expect(!(UnixTime(now) < UnixTime(now)))
            // The next instant before it that the clock has.
            let earlier = WireDate(secondsSinceReferenceDate: now.secondsSinceReferenceDate.nextDown)
            #expect(UnixTime(earlier) < UnixTime(now))
            let length = Duration.nanoseconds(Int64(fraction() * 1e15))
            #expect(UnixTime(now) + length - UnixTime(now) == length)
            #expect(UnixTime(now) + length - length == UnixTime(now))
        }
    }

    @Test(arguments: [
        (0.0, 978_307_200_000_000_000), (-0.5, 978_307_199_500_000_000), (0.000_000_001, 978_307_200_000_000_001),
        (-978_307_200, 0), (-978_307_200.25, -250_000_000), (1e300, .max), (-1e300, .min), (.infinity, .max),
        (-.infinity, .min), (.nan, .min), (1e10, .max), (-1e11, .min),
    ])
    func `an instant is rounded down to whole nanoseconds, and what is out of range is the first or the last`(
        seconds: Double, nanoseconds: Int64
    ) {
        #expect(UnixTime(WireDate(secondsSinceReferenceDate: seconds)).nanoseconds == nanoseconds)
    }

    @Test func `seconds and milliseconds are rounded down on both sides of 1970`() {
        #expect(UnixTime(nanoseconds: 1_999_999_999).wholeSeconds == 1)
        #expect(UnixTime(nanoseconds: -1).wholeSeconds == -1)
        #expect(UnixTime(nanoseconds: -1_000_000_000).wholeSeconds == -1)
        #expect(UnixTime(nanoseconds: -1).wholeMilliseconds == -1)
        #expect(UnixTime(nanoseconds: 1_999_999).wholeMilliseconds == 1)
    }

    @Test func `sums stay within the first and the last instant`() {
        let end = UnixTime(nanoseconds: .max)
        #expect(end + .seconds(1) == end && end + .seconds(Int64.max) == end)
        #expect(UnixTime.distantPast - .seconds(1) == .distantPast)
        #expect(UnixTime(seconds: 0) + .seconds(Int64.max) == end)
        #expect(end - UnixTime.distantPast == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
    }
}
