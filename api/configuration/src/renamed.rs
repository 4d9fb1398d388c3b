//! Keys of earlier releases, with advice for messages.

const NO_LIST_CACHE: &str = "no longer exists: lists are not cached; remove it";

/// Keys of earlier releases: the name of the section in messages, the key, and the advice.
pub(crate) const RENAMED_KEYS: &[(&str, &str, &str)] = &[
    ("the file", "limits", "is now called `rate_limits`"),
    (
        "the file",
        "keys",
        "has a file of its own now: move each [[keys]] to keys.toml beside this file, or to what `keys_file` names",
    ),
    ("[http]", "kept_pages", NO_LIST_CACHE),
    ("[http]", "list_cache_bytes", NO_LIST_CACHE),
    ("[http]", "user_agent_rule", "is now called `compatibility.user_agent_rule`"),
    ("[http]", "refused_user_agents", "is now called `compatibility.refused_user_agents`"),
];
