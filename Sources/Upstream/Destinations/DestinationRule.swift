/// Which addresses may be connected to: public ones, and the networks that were allowed by name.
struct DestinationRule: Sendable {
    let allowed: [AddressRange]

    func allows(_ address: IPAddress) -> Bool {
        !Self.special.contains { $0.contains(address) } || allowed.contains { $0.contains(address) }
    }

    /// What IANA's registries of special-purpose addresses keep from the public internet (RFC 6890), multicast, and
    /// what carries an IPv4 address inside an IPv6 one, where the inner one would escape the rule.
    static let special: [AddressRange] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
        "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    ]
}
