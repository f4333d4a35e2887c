. "$SCRIPTS/java.sh"
if [ ! -e data ]; then
  rm -rf data.building
  cp -r "$INSTALLED/template" data.building
  mv data.building data
fi
{
  cat "$SCRIPTS/server.properties"
  echo 'log.dirs=data'
  addresses "$PORT" "$SECOND_PORT"
} >server.properties
exec java $options -cp "$(class_path "$INSTALLED")" kafka.Kafka server.properties
