import AdapterKit
import Testing

@testable import portico

/// What a plugin's library declares is looked at before anything is made of it, as a program's is.
@Suite struct LibraryDeclarationTests {
    private struct Library: Adapter {
        func handle(_ call: Call) async throws -> OperationResult { .nothing }
    }

    private enum Sound: AdapterModule {
        static let name: AdapterName = "sound"
        static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
            declaration(name, "/sound/files")
        }
        static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Library() }
    }

    private enum SignIn: AdapterModule {
        static let name: AdapterName = "sign-in"
        static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
            declaration(name, "/auth/login")
        }
        static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Library() }
    }

    private enum WholeRoot: AdapterModule {
        static let name: AdapterName = "whole-root"
        static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
            declaration(name, "/")
        }
        static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Library() }
    }

    private enum OfAnother: AdapterModule {
        static let name: AdapterName = "of-another"
        static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
            declaration(name, "/api/v1/notes/files")
        }
        static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Library() }
    }

    private static func declaration(_ name: AdapterName, _ path: PathTemplate) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Library", summary: "A library.", version: "1",
            mounts: [HTTPMount("files", summary: "Files.", path: path, methods: ["GET"])])
    }

    private func problem(_ module: any AdapterModule.Type) -> String? {
        do {
            _ = try ConfigurableAdapter(library: module).declare(AdapterConfiguration(), WorkerSettings())
            return nil
        } catch { return "\(error)" }
    }

    @Test func `a path of the gateway's or of another adapter's is refused`() {
        #expect(problem(Sound.self) == nil)
        #expect(problem(SignIn.self)?.contains("the path /auth/login is the gateway's") == true)
        #expect(problem(WholeRoot.self)?.contains("the path of the mount files has to be plain segments") == true)
        #expect(problem(OfAnother.self)?.contains("is not below /api/v1/of-another") == true)
    }
}
