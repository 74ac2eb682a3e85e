import AdapterKit

/// The header fields of a failure's answer. Its message is English, which the answer has to say (Protocol 4.01, section
/// 9.4); it is told in the version that the caller understands.
enum ErrorFields {
    static func of(_ request: MountHeaders) -> MountHeaders {
        [
            "Content-Type": "application/json", "Content-Language": "en",
            "OData-Version": ProtocolVersion.failing(request), "Vary": Variance.fields,
        ]
    }
}
