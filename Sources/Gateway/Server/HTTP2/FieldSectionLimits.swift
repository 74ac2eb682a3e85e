import AdapterKit
import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2

/// `http.limits.fields` and `http.limits.head` on a stream of HTTP/2, counted as for HTTP/1.1: names and values of all
/// fields, the host among them, and the address. A request beyond them is answered 431, one that names two hosts 400, and
/// its connection goes on.
///
/// It stands before the codec: the fields are not made into others before they are counted.
final class FieldSectionLimits: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// How many times ``GatewayLimits/head`` is unpacked, so that a stream and not its connection ends: the state of the
    /// compression is lost where unpacking stops.
    static let unpacked = 4

    private let connection: GatewayConnection
    private var isRefused = false

    init(_ connection: GatewayConnection) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        if case .headers(let section) = unwrapInboundIn(data) {
            guard isWithinLimits(section.headers) else {
                return refuse(
                    PorticoError(.requestHeadersTooLarge, "The header fields are too large or too many."), context)
            }
            guard Self.hasOneHost(section.headers) else {
                return refuse(.malformed("A request names its host, once."), context)
            }
        }
        context.fireChannelRead(data)
    }

    private func isWithinLimits(_ fields: HPACKHeaders) -> Bool {
        let limits = connection.gateway.services.limits
        var (count, bytes) = (0, 0)
        for (name, value, _) in fields {
            switch name {
            case ":authority": bytes += "host".utf8.count + value.utf8.count
            case ":path":
                bytes += value.utf8.count
                continue
            case ":method", ":scheme": continue
            default: bytes += name.utf8.count + value.utf8.count
            }
            count += 1
        }
        return count <= limits.fields && bytes <= limits.head
    }

    /// Whether every `host` field names what `:authority` names (RFC 9113, section 8.3.1). Another program on the way may
    /// have gone by either of them.
    private static func hasOneHost(_ fields: HPACKHeaders) -> Bool {
        var (authority, hosts) = (String?.none, [String]())
        for (name, value, _) in fields {
            if name == ":authority" { authority = value }
            if name == "host" { hosts.append(value) }
        }
        guard hosts.count <= 1, let authority, let host = hosts.first else { return hosts.count <= 1 }
        return host.lowercased() == authority.lowercased()
    }

    /// A second section is the request's trailer: the answer may be under way, so the stream ends.
    private func refuse(_ error: PorticoError, _ context: ChannelHandlerContext) {
        isRefused = true
        let response = connection.refusal(error, peer: context.channel.remoteAddress?.ipAddress ?? "local")
        var fields = HPACKHeaders([(":status", String(response.status.code))])
        for field in response.headers { fields.add(name: field.name.canonicalName, value: field.value) }
        context.write(wrapOutboundOut(.headers(.init(headers: fields))), promise: nil)
        let body = HTTP2Frame.FramePayload.Data(data: .byteBuffer(response.buffer), endStream: true)
        context.writeAndFlush(wrapOutboundOut(.data(body)), promise: nil)
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension FieldSectionLimits: Sendable {}
