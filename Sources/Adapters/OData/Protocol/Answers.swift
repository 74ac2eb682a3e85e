import AdapterKit

/// Answers with the header fields that all of OData's have (Protocol 4.01, section 8.3).
struct Answers: Sendable {
    let format: ResponseFormat

    func json(_ body: [UInt8], status: Int = 200, headers: MountHeaders = [:]) -> MountResponse {
        json(.bytes(body), status: status, headers: headers)
    }

    func json(_ body: MountResponse.Body, status: Int = 200, headers: MountHeaders = [:]) -> MountResponse {
        var headers = headers
        headers["Content-Type"] = format.mediaType
        headers["OData-Version"] = format.version
        return MountResponse(status, headers: headers, body: body)
    }

    func text(_ body: [UInt8], type: String, status: Int = 200, headers: MountHeaders = [:]) -> MountResponse {
        var headers = headers
        headers["Content-Type"] = type
        headers["OData-Version"] = format.version
        return MountResponse(status, headers: headers, body: body)
    }

    /// Bytes that a caller stored.
    func stored(_ bytes: [UInt8], _ content: StoredContent, headers: MountHeaders = [:]) -> MountResponse {
        var answer = MountResponse(stored: bytes, as: content, headers: headers)
        answer.headers["OData-Version"] = format.version
        return answer
    }

    func nothing(_ status: Int = 204, headers: MountHeaders = [:]) -> MountResponse {
        var headers = headers
        headers["OData-Version"] = format.version
        return MountResponse(status, headers: headers)
    }
}
