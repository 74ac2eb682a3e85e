import AdapterKit
import HTTPTypes
import ValueTree

/// The figures of the console's charts.
struct FigureRoutes: Sendable {
    let history: FigureHistory
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/figures",
                AdministrationEndpoint(
                    "figures", .read, "Requests, errors, latency and load of the last fifteen minutes.",
                    query: ["after"], services: services
                ) { request, _ in
                    let after = try request.request.target.number("after", in: 0...Int64.max) ?? 0
                    return [
                        "seconds": .int64(FigureSeries.interval.components.seconds),
                        "points": .array(history.points(after: after).map(Self.value)),
                    ]
                })
        ]
    }

    private static func value(_ point: FigureSeries.Point) -> WireValue {
        let adapters = point.adapters.sorted { $0.key < $1.key }.map { name, figures -> WireValue in
            [
                "name": .string(name), "requests": number(figures.requests), "errors": number(figures.errors),
                "p50": figures.median.map(number) ?? .null, "p99": figures.slowest.map(number) ?? .null,
            ]
        }
        return [
            "number": .int64(point.number), "time": .date(point.time.wholeSeconds), "adapters": .array(adapters),
            "streams": .double(point.streams), "devices": .int64(Int64(point.devices)),
            "commits": number(point.commits), "memory": .double(point.memory), "load": number(point.load),
        ]
    }

    /// A number with six digits behind the point.
    private static func number(_ number: Double) -> WireValue { .double((number * 1e6).rounded() / 1e6) }
}
