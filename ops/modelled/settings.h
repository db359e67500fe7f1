// What users may say of a device that models time: [,memory=SIZE][,host=SIZE]… Each setting once. docs/devices.md tells what each
// of them means.
#pragma once

#include "ops/modelled/options.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::ops {

class ModelledSettings {
public:
  // One that a kind of device has alone. `read` takes what is behind the equals sign, and the whole setting for messages; what is
  // wrong with it.
  struct Own {
    std::string_view name, form;
    std::function<std::string(std::string_view value, std::string_view setting)> read;
  };
  // Reads into `options`. `device`: its name, for messages. `moves_pages`: it can do as unified memory does.
  ModelledSettings(ModelledOptions& options, std::string_view device, bool moves_pages, Own own = {})
      : options_(options), device_(device), moves_pages_(moves_pages), own_(std::move(own)) {}

  // Takes the number of one of several devices, `:N`, from the front of what is behind the kind's name, where there is one. False
  // with a message.
  static bool take_number(std::string_view& settings, std::string_view device, int& number, std::string& message);
  // From the first comma on. False with a message for what makes no sense.
  bool read(std::string_view settings, std::string& message);

private:
  std::string wrong_with(std::string_view setting);
  std::string wrong_with_policy(std::string_view name, std::string_view setting);
  bool finish(std::string& message);

  ModelledOptions& options_;
  std::string_view device_;
  bool moves_pages_;
  Own own_;
  double bandwidth_ = 0, bandwidth_out_ = 0; // bytes a second; 0: as by default
  std::vector<std::string_view> given_;      // so far
};

} // namespace cairn::ops
