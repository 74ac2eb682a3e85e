import HTTPTypes
import NIOHTTP1

extension HTTPResponse.Status {
    /// With the reason phrase that the status is registered with (IANA, HTTP Status Codes); none where it is not.
    ///
    /// Nobody has to read it, but what speaks HTTP/1 by hand shows it to people, and some of it stumbles over none.
    static func standard(_ code: Int) -> Self {
        Self(code: code, reasonPhrase: HTTPResponseStatus(statusCode: code).reasonPhrase)
    }
}
