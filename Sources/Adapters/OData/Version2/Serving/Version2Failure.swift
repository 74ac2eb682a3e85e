import AdapterKit

/// Failures in the shape of version 2, whoever raised them: in the format that the caller most likely wants.
enum Version2Failure {
    static func answer(
        _ failure: Version2Error, status: Int, to headers: MountHeaders, target: String, adding: MountHeaders = [:]
    ) -> MountResponse {
        let format = Version2Formats.likeliest(format: formatOption(target), accept: headers["Accept"])
        let document = format.document(failure)
        var fields = adding
        fields["Content-Type"] = document.mediaType
        fields["DataServiceVersion"] = Version2Protocol.version
        return MountResponse(status, headers: fields, body: document.bytes)
    }

    /// `$format` of an address that perhaps cannot be parsed.
    private static func formatOption(_ target: String) -> String? {
        let query = target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        for piece in query.split(separator: "&") {
            for name in ["$format=", "%24format="] where piece.hasPrefix(name) {
                return String(piece.dropFirst(name.count)).replacing("%2F", with: "/")
            }
        }
        return nil
    }
}
