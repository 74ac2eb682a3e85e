import AdapterKit
import IPAddresses
import Upstream

extension UpstreamSettings {
    /// May reach these servers on the loopback interface. Gives them time: a busy machine is no slow server.
    public static func loopback(_ servers: [String], name: UpstreamName = "erp") -> UpstreamSettings {
        var settings = patient(servers, name: name)
        settings.privateNetworks = ["127.0.0.0/8"]
        settings.limits.pause = .milliseconds(1)
        return settings
    }

    /// May reach these servers where they are public. Gives them time.
    public static func patient(_ servers: [String], name: UpstreamName = "erp") -> UpstreamSettings {
        let origins = servers.compactMap { UpstreamAddress($0)?.origin }
        var settings = UpstreamSettings(name: name, origins: Set(origins))
        settings.limits.connect = .seconds(60)
        settings.limits.firstByte = .seconds(120)
        settings.limits.deadline = .seconds(120)
        return settings
    }
}

extension UpstreamSettings {
    /// May ask these servers; the first of them, in the order of their texts, is its own.
    fileprivate init(name: UpstreamName, origins: Set<UpstreamOrigin>) {
        let first = origins.map(\.description).min().flatMap { UpstreamAddress($0 + "/") }
        guard let url = first else { preconditionFailure("an upstream has a server") }
        self.init(name: name, url: url)
        self.origins = origins
    }
}
