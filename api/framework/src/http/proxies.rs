//! Client addresses: the peer of the connection, or the address that a trusted proxy forwards.

use std::net::{IpAddr, SocketAddr};

use actix_web::http::header::{HeaderMap, HeaderName};
use ipnet::IpNet;

/// Each proxy appends the address of its peer.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Parses an address or a network.
pub fn trusted(text: &str) -> Result<IpNet, String> {
    let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.ok_or_else(|| "must be an address such as 10.0.0.7 or a network such as 10.0.0.0/8".into())
}

/// Returns the nearest address that is not a trusted proxy. Entries to its left may be forged by the client.
pub fn client(trusted: &[IpNet], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let mut client = peer.to_canonical();
    let lines: Vec<_> = headers.get_all(FORWARDED_FOR).collect();
    let hops = lines.into_iter().rev().flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
    for hop in hops {
        if !trusted.iter().any(|network| network.contains(&client)) {
            break;
        }
        let Some(address) = address(hop.trim()) else { break };
        client = address.to_canonical();
    }
    client
}

/// Parses an address, with the port that some proxies add.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|it| it.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

/// Returns the network that counts as one client: a /64 of IPv6, which one customer typically owns.
pub fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & (u128::MAX << 64)).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn seen(proxies: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let proxies: Vec<IpNet> = proxies.iter().map(|it| trusted(it).unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(line).unwrap());
        }
        client(&proxies, peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn forwarded_addresses_of_untrusted_peers_are_ignored() {
        assert_eq!(seen(&[], "203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        assert_eq!(seen(&["10.0.0.0/8"], "203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        assert_eq!(seen(&["10.0.0.0/8"], "10.1.2.3", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(seen(&["10.0.0.0/8"], "10.1.2.3", &[]), "10.1.2.3");
    }

    #[test]
    fn forwarded_addresses_written_by_the_client_are_ignored() {
        let proxies = ["10.0.0.0/8", "192.0.2.7"];
        for spoofed in [
            vec!["127.0.0.1, 198.51.100.1"],
            vec!["127.0.0.1", "198.51.100.1"],
            vec!["10.9.9.9, 127.0.0.1, 198.51.100.1, 192.0.2.7"],
            vec!["unknown, 198.51.100.1", "192.0.2.7, 10.0.0.1"],
            vec!["203.0.113.1,,198.51.100.1:4711"],
        ] {
            assert_eq!(seen(&proxies, "10.1.2.3", &spoofed), "198.51.100.1", "{spoofed:?}");
        }
        // At an invalid entry, the sender of the header counts as the client.
        assert_eq!(seen(&proxies, "10.1.2.3", &["198.51.100.1, nonsense"]), "10.1.2.3");
        assert_eq!(seen(&proxies, "10.1.2.3", &["198.51.100.1, _hidden, 192.0.2.7"]), "192.0.2.7");
    }

    #[test]
    fn addresses_are_read_as_proxies_write_them() {
        let proxy = ["::1"];
        assert_eq!(seen(&proxy, "::1", &["[2001:db8::7]:443"]), "2001:db8::7");
        assert_eq!(seen(&proxy, "::1", &["[2001:db8::7]"]), "2001:db8::7");
        assert_eq!(seen(&["10.0.0.0/8"], "::ffff:10.0.0.1", &["::ffff:198.51.100.1"]), "198.51.100.1");
        for wrong in ["", "10.0.0.0/33", "proxy", "10.0.0"] {
            assert!(trusted(wrong).is_err(), "{wrong}");
        }
    }
}
