#if canImport(Glibc)
    import Foundation
    import Glibc
    import Synchronization

    /// Listens on loopback and gives each connection one answer, by its path: the bytes as they are. A path that has none is
    /// never answered.
    final class CannedServer: Sendable {
        let port: UInt16
        private let listener: Int32
        private let requests = Mutex<[String]>([])

        /// The heads that arrived, each with its body.
        var heads: [String] { requests.withLock { $0 } }
        var address: String { "http://127.0.0.1:\(port)" }

        init(_ answers: [String: String]) throws {
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let listener = listener
            let isBound = withUnsafeMutablePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, length) == 0 && listen(listener, 16) == 0
                        && getsockname(listener, $0, &length) == 0
                }
            }
            guard isBound else { throw CocoaError(.fileReadUnknown) }
            port = UInt16(bigEndian: place.sin_port)
            Thread.detachNewThread { [self] in serve(answers) }
        }

        func stop() {
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }

        private func serve(_ answers: [String: String]) {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                let head = read(connection)
                requests.withLock { $0.append(head) }
                let path = head.split(separator: " ").dropFirst().first.map { String($0) } ?? ""
                // One without an answer stays open until the client gives up.
                guard let answer = answers[path] else { continue }
                _ = answer.withCString { write(connection, $0, strlen($0)) }
                close(connection)
            }
        }

        /// Whether the head is there, and as much of a body as it announces.
        private func isWhole(_ text: String) -> Bool {
            let parts = text.components(separatedBy: "\r\n\r\n")
            guard parts.count > 1 else { return false }
            let length = parts[0].components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            return parts[1].utf8.count >= length.flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0
        }

        private func read(_ connection: Int32) -> String {
            var head = ""
            var bytes = [UInt8](repeating: 0, count: 4096)
            while !isWhole(head) {
                let count = Glibc.read(connection, &bytes, bytes.count)
                guard count > 0 else { break }
                head += String(decoding: bytes[..<count], as: UTF8.self)
            }
            return head
        }
    }
#endif
