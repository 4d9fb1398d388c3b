# Exits with 0 when the snippet of the documentation accepts the message: snippet.rb SECRET HEADERS.json BODY
require "json"
require_relative "verify"

secret, headers, body = ARGV
exit(verify(secret, JSON.parse(File.read(headers)), File.binread(body)) ? 0 : 3)
