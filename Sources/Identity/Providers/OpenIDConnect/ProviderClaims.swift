import JWTKit

/// Everything a provider's token says. ``ProviderTokenInspector`` decides what of it counts.
struct ProviderClaims: JWTPayload, Equatable {
    let all: ClaimValue

    init(from decoder: any Decoder) throws {
        all = try ClaimValue(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try all.encode(to: encoder)
    }

    func text(_ name: String) -> String? { all[name]?.text }
    func number(_ name: String) -> Double? { all[name]?.number }
    func has(_ name: String) -> Bool { all[name] != nil }

    /// The inspector has checked everything before JWTKit is asked for the signature.
    func verify(using algorithm: some JWTAlgorithm) {}
}
