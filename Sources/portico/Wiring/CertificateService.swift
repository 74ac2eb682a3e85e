import Foundation
import Gateway
import Logging
import ServiceLifecycle
import UnixSignals

/// Takes up a renewed certificate: on SIGHUP, and when its files change.
struct CertificateService: Service {
    let certificate: ServerCertificate
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await onSignal() }
                group.addTask { try await onChange() }
                try await group.waitForAll()
            }
        }
    }

    private func onSignal() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup) { reload() }
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

    private func reload() {
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
