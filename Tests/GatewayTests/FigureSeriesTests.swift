import AdapterKit
import Telemetry
import Testing
import ValueTree

@testable import Gateway

/// What the charts of the console are made of.
@Suite struct FigureSeriesTests {
    private static func at(_ seconds: Double) -> WireDate { WireDate(secondsSinceReferenceDate: seconds) }

    /// `requests` and `errors` so far, of which each took 20 to 25 milliseconds; operators' own beside them.
    private static func samples(requests: Int, errors: Int) -> MetricSamples {
        var samples = MetricSamples()
        samples.set(MetricCatalogue.requests, ["notes", "notes.list", "json", "http1", "2xx"], requests - errors)
        samples.set(MetricCatalogue.requests, ["notes", "notes.list", "json", "http1", "5xx"], errors)
        samples.set(MetricCatalogue.requests, ["gateway", "admin.status", "json", "http1", "2xx"], 1_000)
        let bounds = MetricDefinition.requestBounds
        samples.set(
            MetricCatalogue.requestDuration, ["notes", "notes.list"],
            MetricDistribution(
                bounds: bounds,
                cumulativeCounts: bounds.map { $0 >= 0.025 ? UInt64(requests) : 0 } + [UInt64(requests)],
                sum: 1))
        samples.set(MetricCatalogue.commits, requests)
        samples.set(MetricCatalogue.streams, 3)
        return samples
    }

    @Test func `a point is what came since the one before, a second`() throws {
        var series = FigureSeries()
        series.add(Self.samples(requests: 100, errors: 0), devices: 2, at: Self.at(0))
        #expect(series.points.isEmpty)
        series.add(Self.samples(requests: 150, errors: 10), devices: 2, at: Self.at(5))
        let point = try #require(series.points.first)
        let notes = try #require(point.adapters["notes"])
        #expect(notes.requests == 10 && notes.errors == 2 && point.commits == 10)
        #expect(point.streams == 3 && point.devices == 2 && point.number == 1)
        #expect(point.adapters["gateway"] == nil, "operators' own requests do not count")
        let (median, slowest) = (try #require(notes.median), try #require(notes.slowest))
        #expect(median > 0.01 && median < slowest && slowest <= 0.025)
    }

    @Test func `without a request nothing is timed, and counters that begin anew count from nothing`() throws {
        var series = FigureSeries()
        series.add(Self.samples(requests: 100, errors: 0), devices: 0, at: Self.at(0))
        series.add(Self.samples(requests: 100, errors: 0), devices: 0, at: Self.at(5))
        #expect(series.points[0].adapters["notes"] == .init())
        series.add(Self.samples(requests: 5, errors: 5), devices: 0, at: Self.at(10))
        #expect(series.points[1].adapters["notes"]?.requests == 1)
    }

    @Test func `fifteen minutes are kept`() {
        var series = FigureSeries()
        for number in 0...(FigureSeries.most + 50) {
            series.add(Self.samples(requests: number, errors: 0), devices: 0, at: Self.at(Double(number) * 5))
        }
        #expect(series.points.count == FigureSeries.most)
        #expect(series.points.last?.number == Int64(FigureSeries.most + 50))
    }

    @Test func `what is above every bound counts as the last`() {
        let bounds = MetricDefinition.requestBounds
        let above = [UInt64](repeating: 0, count: bounds.count) + [10]
        #expect(FigureSeries.quantile(0.5, of: above) == bounds.last)
        #expect(FigureSeries.quantile(0.5, of: []) == nil)
    }
}
