import Gateway

/// What the listener is configured with beyond its address.
struct FrontDoorSettings {
    private let connections: Int
    private let writeDeadline: Duration
    private let writeRate: Int
    private let trustedProxies: [AddressRange]

    init(_ values: Values) throws {
        connections = values.integer("http.limits.connections")
        writeDeadline = values.duration("http.deadlines.write")
        writeRate = values.size("http.limits.writeRate")
        trustedProxies = try values.texts("http.trustedProxies").map { text in
            guard let range = AddressRange(text) else {
                throw Refusal("http.trustedProxies: \(text) is neither an address nor a network such as 10.0.0.0/8.")
            }
            return range
        }
    }

    func apply(to settings: inout GatewayServer.Settings) {
        settings.connections = connections
        settings.write = writeDeadline
        settings.writeRate = writeRate
        settings.trustedProxies = trustedProxies
    }
}
