import AdapterKit

/// What of a request an answer depends on beside its address, for caches (Protocol 4.01, section 8.3.8).
enum Variance {
    static let fields = "Accept, OData-MaxVersion, Prefer"

    static func told(_ answer: MountResponse) -> MountResponse {
        var answer = answer
        answer.headers["Vary"] = fields
        return answer
    }
}
