import Foundation
import Gateway
import Logging
import ServiceLifecycle

/// Takes up a renewed certificate when its files change, and when ``SignalService`` asks for it.
struct CertificateService: Service {
    let certificate: ServerCertificate
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown { try await onChange() }
    }

    private func onChange() async throws {
        var known = marks()
        while true {
            try await Task.sleep(for: .seconds(1))
            let now = marks()
            if now != known { reload() }
            known = now
        }
    }

    func reload() {
        do {
            try certificate.reload()
            logger.info("certificate renewed")
        } catch {
            logger.error("certificate not renewed", metadata: ["detail": "\(error)"])
        }
    }

    /// What changes when a file is replaced or written; the path of a symbolic link is followed.
    private func marks() -> [String] {
        certificate.files.all.map { path in
            let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            let attributes = try? FileManager.default.attributesOfItem(atPath: file)
            let date = (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
            return "\(file) \(date) \(attributes?[.size] ?? 0) \(attributes?[.systemFileNumber] ?? 0)"
        }
    }
}
