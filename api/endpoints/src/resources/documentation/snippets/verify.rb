# Ruby. `headers` with lower-case names, `body` as it came in, before it is parsed.
require "openssl"
require "time"

TOLERANCE_SECONDS = 5 * 60

def verify(secret_key, headers, body)
  timestamp = headers.fetch("timestamp", "")
  return false if (Time.now - Time.iso8601(timestamp)).abs > TOLERANCE_SECONDS

  signed_payload = "#{timestamp}.#{[body].pack("m0")}"
  expected = OpenSSL::HMAC.hexdigest("SHA256", secret_key, signed_payload)
  %w[signature signature-next].any? { |name| OpenSSL.secure_compare(headers.fetch(name, ""), expected) }
rescue ArgumentError
  false
end
