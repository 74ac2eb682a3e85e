import AdapterKit

/// One of a service's roots, in the version of the protocol that is spoken there.
enum ServiceMount: Sendable {
    case version4(ODataService)
    case version2(Version2Mount)

    init(_ root: ServiceRoot, of service: ODataService) {
        switch root.version {
        case .version4: self = .version4(service)
        case .version2: self = .version2(Version2Mount(service: service, rootPath: root.path))
        }
    }

    var service: ODataService {
        switch self {
        case .version4(let service): service
        case .version2(let mount): mount.service
        }
    }

    /// Requests are answered later at the roots of version 4 alone.
    func respond(to request: MountRequest) async throws -> MountResponse {
        switch self {
        case .version4(let service): try await Variance.told(service.respond(to: request))
        case .version2(let mount): try await mount.service.betweenReseeds { try await mount.answer(request) }
        }
    }
}

/// The roots that a service has, and what is spoken at each.
struct ServiceRoot: Sendable, Equatable {
    enum Version: Sendable, Equatable {
        case version4, version2
    }

    let name: OperationName
    /// Without a slash at its end.
    let path: String
    let version: Version

    /// For whom `access` lets in.
    func mount(_ access: Access) -> HTTPMount {
        // What is public to read is not to write, so it differs from request to request.
        let access = access == .publicRead ? nil : access
        switch version {
        case .version4:
            return HTTPMount(
                name, summary: "The service at \(path), OData 4.01.", path: PathTemplate(stringLiteral: path),
                methods: ["GET", "POST", "PATCH", "PUT", "DELETE"], readingPosts: ["$query"],
                access: access)
        case .version2:
            return HTTPMount(
                name, summary: "The service at \(path), OData 2.0.", path: PathTemplate(stringLiteral: path),
                methods: ["GET", "POST", "PUT", "MERGE", "PATCH", "DELETE"], requiresToken: true,
                mediaType: "*/*", access: access)
        }
    }
}
