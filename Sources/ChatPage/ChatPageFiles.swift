import AdapterKit
import Gateway

/// The page of the chat, below `/chat/`: plain HTML, CSS and modules, which use the JavaScript client.
public enum ChatPageFiles {
    public static let all: [PageFile] = [
        PageFile(
            "/chat/", .html, PackageResources.chat_html,
            entry: .init("Chat", "Rooms and messages, live.", adapter: "chat")),
        PageFile("/chat/chat.css", .style, PackageResources.chat_css),
        PageFile("/chat/chat.js", .module, PackageResources.chat_js),
        PageFile("/chat/conversation.js", .module, PackageResources.conversation_js),
        PageFile("/chat/links.js", .module, PackageResources.links_js),
        PageFile("/chat/room-list.js", .module, PackageResources.room_list_js),
        PageFile("/chat/service.js", .module, PackageResources.service_js),
    ]
}
