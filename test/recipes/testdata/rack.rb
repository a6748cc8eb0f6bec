# A Rack server in miniature: serves the config.ru named first on the port named second, one request at a time.
require "socket"
require "stringio"

def run(app) = $app = app
load File.expand_path(ARGV[0])

server = TCPServer.new("localhost", ARGV[1].to_i)
loop do
  client = server.accept
  method, path = client.gets.to_s.split
  env = { "REQUEST_METHOD" => method, "PATH_INFO" => path }
  while (line = client.gets.to_s.chomp) && !line.empty?
    name, value = line.split(": ", 2)
    env["HTTP_#{name.upcase.tr('-', '_')}"] = value
  end
  env["rack.input"] = StringIO.new(client.read(env["HTTP_CONTENT_LENGTH"].to_i).to_s)
  status, = $app.call(env)
  client.write "HTTP/1.1 #{status} x\r\nConnection: close\r\n\r\n"
  client.close
end
