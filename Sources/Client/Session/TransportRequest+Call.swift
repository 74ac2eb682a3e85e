import WireFormats

extension TransportRequest {
    init(_ call: ServerCall, at server: ServerAddress, token: String?) throws(ClientError) {
        self.init(
            method: call.method, url: server.text + call.target, headers: call.headers, deadline: call.deadline,
            largestAnswer: call.largestAnswer)
        if !headers.contains(where: { $0.name.lowercased() == "accept" }) {
            headers.append(Header("Accept", "application/cbor"))
        }
        if let token { headers.append(Header("Authorization", "Bearer " + token)) }
        switch call.body {
        case nil: break
        case .bytes(let bytes, let type): setBody(bytes, type)
        case .value(let value):
            do {
                setBody(try CBORFormat().write(value), "application/cbor")
            } catch {
                throw .unreadableAnswer("a value that cannot be sent: \(error.description)")
            }
        }
    }

    private mutating func setBody(_ bytes: [UInt8], _ type: String) {
        headers.append(Header("Content-Type", type))
        body = bytes
    }
}
